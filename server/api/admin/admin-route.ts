import type { Route } from '../route.ts'

/** A route for administrators only: `access` is the same for all. */
export type AdminRoute = Omit<Route, 'access' | 'tag' | 'auth'>
