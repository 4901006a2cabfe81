//! The operator as a process of its own.

mod webapp;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), kube::Error> {
    webapp::run(kube::Client::try_default().await?).await;
    Ok(())
}
