package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import java.util.List;
import java.util.function.ObjIntConsumer;

/** A deployment's router whose counters a test sets. */
final class FakeHandle implements HandleMeterSource {
  private final DeploymentId deployment;
  volatile int queued;
  volatile int running;
  volatile int reserved;
  volatile long requests;
  volatile long begun = -1;
  volatile boolean broken;
  int readings; // of its gauges

  FakeHandle(String name) {
    this.deployment = new DeploymentId("app", name);
  }

  FakeHandle with(int queued, int running, int reserved) {
    this.queued = queued;
    this.running = running;
    this.reserved = reserved;
    return this;
  }

  @Override
  public DeploymentId deployment() {
    return deployment;
  }

  final LatencyBuckets waited = new LatencyBuckets();
  final LatencyBuckets gaps = new LatencyBuckets();

  @Override
  public String route() {
    return "/digits";
  }

  @Override
  public long handleRequests() {
    return requests;
  }

  @Override
  public List<LatencyBuckets> fulfillmentTimes() {
    return List.of(waited);
  }

  @Override
  public List<LatencyBuckets> dispatchGaps() {
    return List.of(gaps);
  }

  @Override
  public long releasedWithoutDispatch() {
    return 5;
  }

  @Override
  public long selectionsExpired() {
    return 2;
  }

  @Override
  public int waitingToCollect() {
    return 3;
  }

  @Override
  public long collectedAnew() {
    return 4;
  }

  @Override
  public long backPressured() {
    return 6;
  }

  @Override
  public long retries() {
    return 7;
  }

  @Override
  public long handOffs() {
    return 8;
  }

  @Override
  public long rankerFailures() {
    return 9;
  }

  @Override
  public void forEachReplica(ObjIntConsumer<String> into) {
    into.accept("r1", 3);
  }

  @Override
  public long begun() {
    return begun;
  }

  @Override
  public int queued() {
    readings++;
    if (broken) {
      throw new IllegalStateException("broken for the test");
    }
    return queued;
  }

  @Override
  public int running() {
    return running;
  }

  @Override
  public int reserved() {
    return reserved;
  }

  @Override
  public long requests() {
    return requests;
  }
}
