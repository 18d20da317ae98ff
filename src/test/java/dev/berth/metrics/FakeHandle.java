package dev.berth.metrics;

import dev.berth.api.DeploymentId;

/** A deployment's router whose counters a test sets. */
final class FakeHandle implements HandleMetricSource {
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
