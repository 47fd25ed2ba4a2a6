import type { Route } from '../route.ts';
import type { AdminView } from './admin-view.ts';
import { jobRoutes } from './job-routes.ts';
import { drainRoutes, levelRoutes } from './operation-routes.ts';
import { subscriptionRoutes } from './subscription-routes.ts';
import { takeDownRoutes } from './take-down-routes.ts';

/** Everything under `/admin`: by the local socket, or with a token of an operator. */
export function adminRoutes({ jobs, takeDowns, subscriptions, levels, drain }: AdminView): Route[] {
  return [
    ...jobRoutes(jobs),
    ...takeDownRoutes(takeDowns),
    ...subscriptionRoutes(subscriptions),
    ...(levels === null ? [] : levelRoutes(levels)),
    ...drainRoutes(drain),
  ];
}
