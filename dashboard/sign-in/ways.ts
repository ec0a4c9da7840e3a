/** Where somebody goes who has signed in and was not on the way anywhere. */
const HOME = '/sites'

/** What is no page, or would lead back to signing in. */
const NO_WAY = /^\/(sign-in|docs|api|assets)(\/|$)/

/** A page of this origin from `?then=`; whatever else stands there leads nowhere but home. */
export function wayOn(then: string | undefined): string {
  if (!then?.startsWith('/') || !URL.canParse(then, location.origin)) return HOME
  const { origin, pathname, search } = new URL(then, location.origin)
  if (origin !== location.origin || NO_WAY.test(pathname) || pathname.startsWith('//')) return HOME
  return pathname + search
}
