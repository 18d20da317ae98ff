package dev.berth.architecture;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The knots of a package: types that all reach each other within it, so that none of them is read
 * without the others. What is nested in a type is part of it.
 */
final class Knots {
  private Knots() {}

  /** By package, the largest first; packages without any are left out. */
  static SortedMap<String, List<SortedSet<String>>> of(JavaClasses classes) {
    SortedMap<String, Map<String, Set<String>>> byPackage = new TreeMap<>();
    for (JavaClass type : classes) {
      Set<String> used =
          byPackage
              .computeIfAbsent(type.getPackageName(), name -> new TreeMap<>())
              .computeIfAbsent(outermost(type), name -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        if (target.getPackageName().equals(type.getPackageName())) {
          used.add(outermost(target));
        }
      }
    }
    SortedMap<String, List<SortedSet<String>>> all = new TreeMap<>();
    byPackage.forEach(
        (name, uses) -> {
          List<SortedSet<String>> knots = knots(uses);
          if (!knots.isEmpty()) {
            all.put(name, knots);
          }
        });
    return all;
  }

  private static String outermost(JavaClass type) {
    String name = type.getName().substring(type.getPackageName().length() + 1);
    int nested = name.indexOf('$');
    return nested < 0 ? name : name.substring(0, nested);
  }

  private static List<SortedSet<String>> knots(Map<String, Set<String>> uses) {
    Map<String, Set<String>> reached = new TreeMap<>();
    for (String type : uses.keySet()) {
      Set<String> from = new HashSet<>();
      reach(type, uses, from);
      reached.put(type, from);
    }
    return reached.keySet().stream()
        .map(type -> eachOther(type, reached))
        .filter(knot -> knot.size() > 1)
        .distinct()
        .sorted(Comparator.comparing(knot -> -knot.size()))
        .toList();
  }

  private static void reach(String from, Map<String, Set<String>> uses, Set<String> reached) {
    for (String used : uses.getOrDefault(from, Set.of())) {
      if (reached.add(used)) {
        reach(used, uses, reached);
      }
    }
  }

  /** Those that reach a type, among those that it reaches. */
  private static SortedSet<String> eachOther(String type, Map<String, Set<String>> reached) {
    SortedSet<String> knot = new TreeSet<>(Set.of(type));
    reached.get(type).stream()
        .filter(other -> reached.getOrDefault(other, Set.of()).contains(type))
        .forEach(knot::add);
    return knot;
  }
}
