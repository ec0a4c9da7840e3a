/** The page after signing in without a destination. */
const DEFAULT_TARGET = '/sites'

/** Paths that are no page, or would lead back to signing in. */
const EXCLUDED_PATHS = /^\/(sign-in|docs|api|assets)(\/|$)/

/** A page of this origin from `?then=`; any other value yields the default page. */
export function redirectTarget(then: string | undefined): string {
  if (!then?.startsWith('/') || !URL.canParse(then, location.origin)) return DEFAULT_TARGET
  const { origin, pathname, search } = new URL(then, location.origin)
  if (origin !== location.origin || EXCLUDED_PATHS.test(pathname) || pathname.startsWith('//'))
    return DEFAULT_TARGET
  return pathname + search
}
