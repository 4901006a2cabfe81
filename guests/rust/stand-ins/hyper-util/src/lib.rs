//! What kube names of hyper-util, so that it compiles where there are no sockets. `kube::Client::new` with the host's service needs none of it; a client of
//! `Client::try_default` fails with each request.

/// Why nothing is sent from here.
#[derive(Debug)]
pub struct NoSockets;

impl std::fmt::Display for NoSockets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a module has no sockets: make its client with kubereel_guest::client")
    }
}

impl std::error::Error for NoSockets {}

pub mod rt {
    use std::future::Future;

    #[derive(Clone, Debug, Default)]
    pub struct TokioExecutor;

    impl TokioExecutor {
        pub fn new() -> Self {
            TokioExecutor
        }
    }

    impl<Task: Future<Output: Send + 'static> + Send + 'static> hyper::rt::Executor<Task> for TokioExecutor {
        fn execute(&self, task: Task) {
            tokio::spawn(task);
        }
    }
}

pub mod client {
    pub mod legacy {
        use crate::NoSockets;
        use http::{Request, Response};
        use hyper::body::Incoming;
        use std::future::{ready, Ready};
        use std::marker::PhantomData;
        use std::task::{Context, Poll};
        use tower_service::Service;

        pub use crate::NoSockets as Error;

        pub struct Client<Connector, Body>(PhantomData<fn(Connector, Body)>);

        impl<Connector, Body> Clone for Client<Connector, Body> {
            fn clone(&self) -> Self {
                Client(PhantomData)
            }
        }

        impl<Connector, Body> Service<Request<Body>> for Client<Connector, Body> {
            type Response = Response<Incoming>;
            type Error = NoSockets;
            type Future = Ready<Result<Self::Response, NoSockets>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoSockets>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, _: Request<Body>) -> Self::Future {
                ready(Err(NoSockets))
            }
        }

        pub struct Builder;

        impl Builder {
            pub fn new<Executor>(_: Executor) -> Self {
                Builder
            }

            pub fn build<Connector, Body>(&self, _: Connector) -> Client<Connector, Body> {
                Client(PhantomData)
            }
        }

        pub mod connect {
            use crate::NoSockets;
            use http::Uri;
            use hyper::rt::{Read, ReadBufCursor, Write};
            use std::future::{ready, Ready};
            use std::io;
            use std::pin::Pin;
            use std::task::{Context, Poll};
            use tower_service::Service;

            pub struct Connected;

            pub trait Connection {
                fn connected(&self) -> Connected;
            }

            /// There is none of it.
            #[derive(Debug)]
            pub enum Socket {}

            impl Connection for Socket {
                fn connected(&self) -> Connected {
                    match *self {}
                }
            }

            impl Read for Socket {
                fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
                    match *self {}
                }
            }

            impl Write for Socket {
                fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
                    match *self {}
                }

                fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                    match *self {}
                }

                fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                    match *self {}
                }
            }

            #[derive(Clone, Debug, Default)]
            pub struct HttpConnector;

            impl HttpConnector {
                pub fn new() -> Self {
                    HttpConnector
                }

                pub fn enforce_http(&mut self, _: bool) {}
            }

            impl Service<Uri> for HttpConnector {
                type Response = Socket;
                type Error = NoSockets;
                type Future = Ready<Result<Socket, NoSockets>>;

                fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoSockets>> {
                    Poll::Ready(Ok(()))
                }

                fn call(&mut self, _: Uri) -> Self::Future {
                    ready(Err(NoSockets))
                }
            }
        }
    }
}
