package dev.berth.controller;

/** The state of a replica as the controller knows it. Source: Ray Serve's words. */
enum ReplicaPhase {
  STARTING,
  RUNNING,
  DRAINING
}
