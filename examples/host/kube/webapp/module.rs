//! The operator as a module of `reel host`.

mod webapp;

kubereel_guest::run!(main);

async fn main() {
    webapp::run(kubereel_guest::client()).await
}
