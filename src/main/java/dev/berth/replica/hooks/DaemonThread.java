package dev.berth.replica.hooks;

/** A daemon thread: does not prevent the process from exiting. */
public class DaemonThread extends Thread {

  public DaemonThread(Runnable task, String name) {
    super(task, name);
    setDaemon(true);
  }
}
