// Sends the request of the JSON in its argument as often as it says, and prints the statuses as JSON. It speaks HTTP/2
// over TLS, unless GODEBUG=http2client=0.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

type plan struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Bytes   int               `json:"bytes"`
	Rounds  int               `json:"rounds"`
}

func main() {
	var p plan
	must(json.Unmarshal([]byte(os.Args[1]), &p))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	client := http.Client{Transport: transport}
	body := make([]byte, p.Bytes)
	found := []any{}
	for round := 0; round < p.Rounds; round++ {
		request, err := http.NewRequest(p.Method, p.URL, bytes.NewReader(body))
		must(err)
		for name, value := range p.Headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		found = append(found, response.StatusCode)
	}
	text, err := json.Marshal(found)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
