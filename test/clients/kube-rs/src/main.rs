//! The operator as a program.

mod operator;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    operator::run(kube::Client::try_default().await?).await
}
