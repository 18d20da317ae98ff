package dev.berth.build;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Times one test process from its start, so that what a group costs to set up is in its time. Does
 * nothing where the build did not name a group, as in an editor. JUnit finds it as a service.
 */
public final class TestGroupListener implements TestExecutionListener {
  // A process may run several plans, each with a listener of its own.
  private static final AtomicInteger TESTS = new AtomicInteger();
  private static final AtomicInteger FAILED = new AtomicInteger();

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    if (test.isTest()) {
      TESTS.incrementAndGet();
    }
    if (result.getStatus() == TestExecutionResult.Status.FAILED) {
      FAILED.incrementAndGet();
    }
  }

  @Override
  public void testPlanExecutionFinished(TestPlan plan) {
    String group = System.getProperty("berth.test.group");
    String directory = System.getProperty("berth.test.times");
    if (group == null || directory == null || TESTS.get() + FAILED.get() == 0) {
      return;
    }
    long start = ManagementFactory.getRuntimeMXBean().getStartTime();
    TestGroupTime time =
        new TestGroupTime(group, TESTS.get(), FAILED.get(), start, System.currentTimeMillis());
    try {
      time.write(Path.of(directory), ProcessHandle.current().pid());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    System.out.println(time);
  }
}
