package dev.berth.architecture;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
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
 *
 * <p>Source: Tarjan 1972, strongly connected components.
 */
final class Knots {
  private final Map<String, Set<String>> uses; // of types, within their package
  private final Map<String, Integer> number = new HashMap<>(); // as they were found
  private final Map<String, Integer> lowest = new HashMap<>(); // reached from there
  private final Deque<String> open = new ArrayDeque<>();
  private final List<SortedSet<String>> found = new ArrayList<>();

  private Knots(Map<String, Set<String>> uses) {
    this.uses = uses;
  }

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
          List<SortedSet<String>> knots = new Knots(uses).all();
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

  private List<SortedSet<String>> all() {
    for (String type : uses.keySet()) {
      if (!number.containsKey(type)) {
        visit(type);
      }
    }
    found.sort(Comparator.comparing((SortedSet<String> knot) -> -knot.size()));
    return found;
  }

  private void visit(String type) {
    int own = number.size();
    number.put(type, own);
    lowest.put(type, own);
    open.push(type);
    for (String used : uses.getOrDefault(type, Set.of())) {
      if (!number.containsKey(used)) {
        visit(used);
        lowest.merge(type, lowest.get(used), Math::min);
      } else if (open.contains(used)) {
        lowest.merge(type, number.get(used), Math::min);
      }
    }
    if (lowest.get(type) == own) {
      SortedSet<String> knot = new TreeSet<>();
      String last;
      do {
        last = open.pop();
        knot.add(last);
      } while (!last.equals(type));
      if (knot.size() > 1) {
        found.add(knot);
      }
    }
  }
}
