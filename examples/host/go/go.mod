module kubereel.dev/examples/host

go 1.24
