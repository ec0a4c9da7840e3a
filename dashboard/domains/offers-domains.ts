import { useLocation } from 'preact-iso'
import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'

/** Pages that only signed-in users see. Others send no request that an expired session would fail. */
const OWN_PAGES = /^\/(sites|trash|domains|account)\b/

/**
 * Whether pages offer custom domains, of one site or in general: where the server cannot serve any, only when the
 * account has some, which are loaded only there.
 */
export function useOffersDomains(slug?: string): boolean {
  const { path } = useLocation()
  const isSignedIn = useSignal(signedInAs) !== null
  const isAsked = !settings.customDomains && isSignedIn && OWN_PAGES.test(path)
  const { value } = useResource(isAsked ? 'domains' : undefined, () => slipway.domains())
  const domains = value?.domains ?? []
  return settings.customDomains || domains.some(({ siteSlug }) => slug === undefined || siteSlug === slug)
}
