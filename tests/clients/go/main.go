// What a user of clickhouse-go (native protocol and HTTP) and of ch-go does in a day, against one server. Each check prints a line:
// "ok NAME", or "FAILED NAME: why". Arguments: the native port, the HTTP port.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// The ports of the server.
var nativePort, httpPort string

var failed bool

// check runs one thing that a user does, and says how it went.
func check(name string, run func() error) {
	err := run()
	if err != nil {
		failed = true
		fmt.Printf("FAILED %s: %v\n", name, err)
		return
	}
	fmt.Println("ok", name)
}

// same is an error where two values differ as text.
func same(got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %v, not %v", got, want)
	}
	return nil
}

// all is the first of the errors.
func all(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelled is a context that ends soon: by a cancel, since a deadline is the socket's too, and which of them a driver meets is chance.
func cancelled() (context.Context, context.CancelFunc) {
	ending, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	return ending, cancel
}

// together runs something many times at once.
func together(count int, run func(number int) error) error {
	var group sync.WaitGroup
	errors := make([]error, count)
	for number := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			errors[number] = run(number)
		}()
	}
	group.Wait()
	return all(errors...)
}

func main() {
	nativePort, httpPort = os.Args[1], os.Args[2]
	checkClickHouseGo()
	checkDatabaseSQL()
	checkChGo()
	if failed {
		os.Exit(1)
	}
}
