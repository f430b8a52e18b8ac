// Go's net/http: makes a payment with a confirmed intent, and looks it up by its id and by search.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

const intents = "/v1/payment_intents"

type report struct {
	Write string  `json:"write"`
	Error *string `json:"error"`
	Id    *string `json:"id"`
	Get   *bool   `json:"get"`
	Read  int     `json:"read"`
}

// service returns the URL and the key of the service: of the real one where REAL_HOSTS is set.
func service() (string, string) {
	if os.Getenv("REAL_HOSTS") != "" {
		return "https://api.stripe.com", "sk_test_own"
	}
	return os.Getenv("HAPAX_PAYMENT_URL"), os.Getenv("HAPAX_PAYMENT_KEY")
}

// ask sends a request, and returns the status and the body of the answer.
func ask(method, path string, form url.Values) (int, map[string]any, error) {
	base, key := service()
	request, err := http.NewRequest(method, base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	request.SetBasicAuth(key, "")
	if method == "POST" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, err
	}
	var body map[string]any
	err = json.Unmarshal(text, &body)
	return answer.StatusCode, body, err
}

func write() (string, error) {
	status, body, err := ask("POST", intents, url.Values{
		"amount": {"4999"}, "currency": {"usd"}, "customer": {"cus_42"}, "payment_method": {"pm_card_visa"},
		"payment_method_types[]": {"card"}, "confirm": {"true"}, "metadata[order]": {"o1"},
	})
	if err != nil {
		return "", err
	}
	if status != 200 {
		return "", fmt.Errorf("%d", status)
	}
	return body["id"].(string), nil
}

func main() {
	result := report{Write: "ok"}
	if id, err := write(); err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		text := err.Error()
		result.Write, result.Error = "error", &text
	} else {
		status, _, _ := ask("GET", intents+"/"+id, nil)
		found := status == 200
		result.Id, result.Get = &id, &found
	}
	_, body, err := ask("GET", intents+"/search?query="+url.QueryEscape("metadata['order']:'o1'"), nil)
	if err != nil {
		panic(err)
	}
	result.Read = len(body["data"].([]any))
	text, _ := json.Marshal(result)
	fmt.Println(string(text))
}
