import type { Route } from '../route.ts';
import type { AdminView } from './admin-view.ts';
import { jobRoutes } from './job-routes.ts';
import { drainRoutes, levelRoutes } from './operation-routes.ts';
import { takeDownRoutes } from './take-down-routes.ts';

/** Everything under `/admin`: by the local socket, or with a token of an operator. */
export function adminRoutes({ jobs, takeDowns, levels, drain }: AdminView, isLocal: boolean): Route[] {
  return [
    ...jobRoutes(jobs, isLocal),
    ...takeDownRoutes(takeDowns),
    ...(levels === null ? [] : levelRoutes(levels)),
    ...drainRoutes(drain),
  ];
}
