// Command keys makes a token, and a certificate for a server that only its own clients know:
//
//	keys -dir keys -hosts build.example
//	toolprocd serve -listen :8443 -token-file keys/token -tls-cert keys/cert.pem -tls-key keys/key.pem
//	anywhere -url https://build.example:8443 -keys keys
//
// The certificate signs itself: a client that trusts it trusts this server and no other.
// The token is in a file, because everybody on a machine can read the arguments of a
// program. [docs/security.md] says what the token protects from, and what it does not
// protect from.
//
// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := keys(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "keys:", err)
		os.Exit(1)
	}
}

func keys(args []string) error {
	flags := flag.NewFlagSet("keys", flag.ContinueOnError)
	dir := flags.String("dir", "keys", "`directory` to write token, cert.pem and key.pem to")
	hosts := flags.String("hosts", "localhost,127.0.0.1,::1", "`names` and addresses of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		return err
	}
	return writeKeys(*dir, strings.Split(*hosts, ","))
}

func writeKeys(dir string, hosts []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "toolproc"},
		NotBefore:    now.Add(-time.Hour), // clocks differ
		NotAfter:     now.AddDate(0, 3, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"token":    []byte(rand.Text() + "\n"), // at least 128 random bits
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	} {
		if err := writeNew(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that does not exist yet, and that only its user can
// read.
func writeNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
