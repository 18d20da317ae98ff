package dev.berth.ingress;

import dev.berth.dialect.ModelAdmission;
import java.util.List;

/**
 * Route of an LLM API, whose requests name a model.
 *
 * @param rules of the models and of the keys of clients
 * @param sides routes to the deployments of the models, in the order of the catalog
 */
public record DialectRoute(ModelAdmission rules, List<IngressRoute> sides) {}
