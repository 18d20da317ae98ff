package dev.berth.metrics;

import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** Flight Recorder event of an explained request, at the time of the request's end. */
@Name("dev.berth.Request")
@Label("Request")
@Category("Berth")
@Description("Explained request, at its end, with the time per phase")
@StackTrace(false)
final class RequestEvent extends Event {
  @Label("Request Id")
  String requestId;

  @Label("Deployment")
  String deployment;

  @Label("Parent")
  @Description("Deployment whose handler sent it; empty for an HTTP request")
  String parent;

  @Label("Replica")
  @Description("Replica that ran it; empty if none did")
  String replica;

  @Label("Request")
  String request;

  @Label("Status")
  @Description("Status of the HTTP response; -1 for a request of a handler")
  int status;

  @Label("Outcome")
  String outcome;

  @Label("Receive")
  @Timespan(Timespan.NANOSECONDS)
  long receive;

  @Label("Queue")
  @Timespan(Timespan.NANOSECONDS)
  long queue;

  @Label("Route")
  @Timespan(Timespan.NANOSECONDS)
  long route;

  @Label("Held")
  @Timespan(Timespan.NANOSECONDS)
  long held;

  @Label("Bus")
  @Timespan(Timespan.NANOSECONDS)
  long bus;

  @Label("Handler")
  @Timespan(Timespan.NANOSECONDS)
  long handler;

  @Label("Stream")
  @Timespan(Timespan.NANOSECONDS)
  long stream;

  @Label("Respond")
  @Timespan(Timespan.NANOSECONDS)
  long respond;

  @Label("Total")
  @Timespan(Timespan.NANOSECONDS)
  long total;

  @Label("Overhead")
  @Description("All except handlers, owners of selections, and clients")
  @Timespan(Timespan.NANOSECONDS)
  long overhead;

  RequestEvent(RequestExplanation explained) {
    requestId = explained.requestId();
    deployment = explained.deployment().toString();
    parent = explained.parent() == null ? "" : explained.parent().toString();
    replica = explained.replicaId();
    request = explained.request();
    status = explained.status();
    outcome = explained.outcome();
    RequestPhaseTimes phases = explained.phases();
    receive = phases.receive();
    queue = phases.queue();
    route = phases.route();
    held = phases.held();
    bus = phases.bus();
    handler = phases.handler();
    stream = phases.stream();
    respond = phases.respond();
    total = phases.total();
    overhead = phases.overhead();
  }
}
