// Package redact masks known values in a stream: the secrets of a host, in the
// forms in which tools print them. It guesses nothing by shape, so data that has no
// such value in it stays as it is, byte for byte.
//
// A value is found as it is; in base64 in each of the three places in which it can
// begin, in the standard and the URL alphabet; percent-encoded and as in a JSON
// string, if that differs; and in hexadecimal digits of either case. Base64 and
// hexadecimal digits may be broken into lines. In place of the value stands
// [withheld: NAME].
//
// It is no boundary: rev, tr and a program that prints a byte a line get through.
package redact
