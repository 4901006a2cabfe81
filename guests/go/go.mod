module kubereel.dev/guests/go

go 1.26
