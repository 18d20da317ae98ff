package dev.berth.controller.autoscaling;

import java.util.Random;

/** Requests per second over a quarter of an hour; the same seed, the same load. */
public enum Trace {
  STEADY,
  STEP,
  RAMP,
  SPIKES,
  SINE,
  BURSTS,
  DIURNAL;

  static final double SECONDS = 900;
  static final double STEP_S = 0.1;

  /**
   * Load by the hour of a day, as published for interactive services: a dip by night, two peaks.
   */
  private static final double[] DAY = {
    .35, .28, .24, .22, .22, .26, .36, .52, .70, .85, .95, 1, .97, .93, .94, .96, .95, .90, .86,
    .84, .80, .70, .57, .45
  };

  /** At each step of {@link #STEP_S}. */
  public double[] rates(long seed) {
    Random random = new Random(seed * 31 + ordinal());
    double height = 20 + random.nextInt(60);
    double shift = random.nextDouble();
    int steps = (int) Math.round(SECONDS / STEP_S);
    double[] rates = new double[steps];
    double burst = 0;
    for (int i = 0; i < steps; i++) {
      double t = i / (double) steps;
      if (random.nextInt(steps) < 12) { // a dozen bursts
        burst = height * (1 + 2 * random.nextDouble());
      }
      burst *= 0.995;
      rates[i] =
          switch (this) {
            case STEADY -> height;
            case STEP -> t < 0.3 + 0.2 * shift ? height / 4 : height;
            case RAMP -> height * Math.min(1, 1.5 * t);
            case SPIKES -> (t + shift / 4) % 0.5 < 0.1 ? height : 0;
            case SINE -> height * (1 + 0.8 * Math.sin(2 * Math.PI * (3 * t + shift)));
            case BURSTS -> height / 4 + burst;
            case DIURNAL -> height * day((t + shift) % 1);
          };
    }
    return rates;
  }

  /**
   * Share of the peak at a part of a day: half of it at all hours, and a wave on that. Source:
   * Shahrad et al., Serverless in the Wild (USENIX ATC 2020), invocations per hour of all of Azure
   * Functions.
   */
  public static double azure(double part) {
    return 0.75 - 0.25 * Math.cos(2 * Math.PI * part);
  }

  private static double day(double part) {
    double hour = part * DAY.length;
    double before = DAY[(int) hour % DAY.length];
    return before + (hour % 1) * (DAY[((int) hour + 1) % DAY.length] - before);
  }
}
