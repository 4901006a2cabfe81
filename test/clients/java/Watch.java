import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;

/** Watches as fabric8 does on the JDK's client: a WebSocket with an Origin. Prints each event, and ends with the watch. */
public class Watch {
  public static void main(String[] arguments) throws Exception {
    CountDownLatch closed = new CountDownLatch(1);
    StringBuilder text = new StringBuilder();
    WebSocket.Listener listener = new WebSocket.Listener() {
      @Override
      public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
        text.append(data);
        if (last) {
          System.out.print(text);
          System.out.flush();
          text.setLength(0);
        }
        socket.request(1);
        return null;
      }

      @Override
      public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
        System.out.println("closed " + code);
        closed.countDown();
        return null;
      }

      @Override
      public void onError(WebSocket socket, Throwable error) {
        System.out.println("failed " + error);
        closed.countDown();
      }
    };
    HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .header("Origin", arguments[0])
        .buildAsync(URI.create(arguments[0].replaceFirst("^http", "ws") + arguments[1]), listener)
        .join();
    closed.await();
  }
}
