package otelhowdah_test

import (
	"context"
	"log"
	"net/http"
	"os"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/otelhowdah"
)

// Calls get spans below those of the application, by the global providers.
func Example() {
	ctx := context.Background()
	db, err := howdah.Open(ctx, os.Getenv("DATABASE_URL"), &howdah.Options{Tracer: otelhowdah.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// The context of a request leads to its span, which otelhttp has put there, say.
	http.HandleFunc("GET /pages/{name}", func(w http.ResponseWriter, r *http.Request) {
		page, err := db.Cache("pages").Get(r.Context(), r.PathValue("name"))
		if err != nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		_, _ = w.Write(page)
	})
}

// One request in a hundred is sampled, with all that it does; no metric is kept.
func ExampleNew() {
	tracers := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))),
		// sdktrace.WithBatcher(exporter) sends the spans.
	)
	tracer := otelhowdah.New(
		otelhowdah.WithTracerProvider(tracers),
		otelhowdah.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhowdah.WithAttributes(semconv.ServerAddress("db.example.org"), semconv.DBNamespace("app")),
	)
	db, err := howdah.Open(context.Background(), os.Getenv("DATABASE_URL"), &howdah.Options{Tracer: tracer})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
}
