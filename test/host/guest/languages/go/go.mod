module kubereel.test/guest

go 1.24
