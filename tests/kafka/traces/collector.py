"""A collector of OpenTelemetry that writes each span as a line of JSON.

Decodes OTLP over HTTP with the messages of OpenTelemetry's own package, so it is a second opinion about what the
program sends. The first line is its port.
"""

import http.server
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def unknown(message):
    """Returns fields that the package does not know; there must be none."""
    fields = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = value if field.is_repeated else [value]
            fields += sum(unknown(part) for part in parts)
    return fields


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # The sender was killed.
        if self.path != "/v1/traces" or self.headers["content-type"] != "application/x-protobuf":
            return self.answer(400, b"")
        request = ExportTraceServiceRequest.FromString(body)
        fields = unknown(request)
        for resource in request.resource_spans:
            service = attributes(resource.resource.attributes).get("service.name")
            for scope in resource.scope_spans:
                for span in scope.spans:
                    say(
                        {
                            "service": service,
                            "schema": resource.schema_url,
                            "scope": scope.scope.name,
                            "trace": span.trace_id.hex(),
                            "span": span.span_id.hex(),
                            "parent": span.parent_span_id.hex(),
                            "state": span.trace_state,
                            "name": span.name,
                            "kind": Span.SpanKind.Name(span.kind),
                            "start": span.start_time_unix_nano,
                            "end": span.end_time_unix_nano,
                            "failed": span.status.code == Status.STATUS_CODE_ERROR,
                            "attributes": attributes(span.attributes),
                            "unknown": fields,
                        }
                    )
        self.answer(200, ExportTraceServiceResponse().SerializeToString())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A sender that is killed resets its connection. The test reports any other error.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Collector)
say({"port": server.server_port})
server.serve_forever()
