module openssh-bdp/interop

go 1.23.0

require (
	github.com/pkg/sftp v1.13.9
	golang.org/x/crypto v0.41.0
)

require (
	github.com/kr/fs v0.1.0 // indirect
	golang.org/x/sys v0.35.0 // indirect
)
