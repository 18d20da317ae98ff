package dev.berth.ingress;

import dev.berth.dialect.ApiKeys;
import dev.berth.dialect.ModelCatalog;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Route of the requests in the dialects of LLM APIs, each of which names a model.
 *
 * @param catalog of the models
 * @param sides routes to the deployments of the models, in the order of the catalog
 * @param keys of clients; null without authentication
 */
public record DialectRoute(
    ModelCatalog catalog, List<IngressRoute> sides, @Nullable ApiKeys keys) {}
