//! The operator of ../../kube-rs as a module of the controller host: only the main function is another one.

#[path = "../../kube-rs/src/operator.rs"]
mod operator;

kubereel_guest::run!(main);

async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    operator::run(kubereel_guest::client()).await
}
