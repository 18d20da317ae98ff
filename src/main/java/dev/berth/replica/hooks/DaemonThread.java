package dev.berth.replica.hooks;

/** A thread that keeps no process alive. */
public class DaemonThread extends Thread {

  public DaemonThread(Runnable task, String name) {
    super(task, name);
    setDaemon(true);
  }
}
