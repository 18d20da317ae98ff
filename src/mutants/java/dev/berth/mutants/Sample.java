package dev.berth.mutants;

import java.util.Collection;
import java.util.Random;
import org.pitest.bytecode.analysis.ClassTree;
import org.pitest.mutationtest.build.InterceptorParameters;
import org.pitest.mutationtest.build.InterceptorType;
import org.pitest.mutationtest.build.MutationInterceptor;
import org.pitest.mutationtest.build.MutationInterceptorFactory;
import org.pitest.mutationtest.engine.Mutater;
import org.pitest.mutationtest.engine.MutationDetails;
import org.pitest.plugin.Feature;
import org.pitest.plugin.FeatureParameter;

/** Leaves some conditions of each hundred, drawn by a seed; the same ones for the same code. */
public final class Sample implements MutationInterceptorFactory {
  static final String NAME = "SAMPLE";

  private static final FeatureParameter SEED = FeatureParameter.named("seed");
  private static final FeatureParameter PERCENT = FeatureParameter.named("percent");

  @Override
  public Feature provides() {
    return Feature.named(NAME)
        .withDescription(description())
        .withParameter(SEED)
        .withParameter(PERCENT);
  }

  @Override
  public String description() {
    return "conditions drawn by a seed";
  }

  @Override
  public MutationInterceptor createInterceptor(InterceptorParameters parameters) {
    int seed = parameters.getInteger(SEED).orElseThrow();
    int percent = parameters.getInteger(PERCENT).orElseThrow();
    return new MutationInterceptor() {
      @Override
      public InterceptorType type() {
        return InterceptorType.FILTER;
      }

      @Override
      public void begin(ClassTree type) {}

      @Override
      public Collection<MutationDetails> intercept(
          Collection<MutationDetails> found, Mutater mutater) {
        return found.stream().filter(this::isDrawn).toList();
      }

      /** By its own name, so that what changes elsewhere draws no other ones. */
      private boolean isDrawn(MutationDetails each) {
        String name = each.getClassName() + each.getMethod() + each.getFirstIndex();
        return new Random(31L * seed + name.hashCode()).nextInt(100) < percent;
      }

      @Override
      public void end() {}
    };
  }
}
