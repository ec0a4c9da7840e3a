/** How the service presents itself to its users. */
export interface Branding {
  name: string
  /** URLs of the operator's documents; '' for none. */
  termsUrl: string
  imprintUrl: string
  /** Whether its mark is at `LOGO_PATH`. */
  hasLogo: boolean
}

export const LOGO_PATH = '/logo'

export const DEFAULT_BRANDING: Branding = { name: 'Slipway', termsUrl: '', imprintUrl: '', hasLogo: false }

/** A document of the operator that pages and emails link to. */
export interface LegalLink {
  kind: 'terms' | 'imprint'
  /** In English. */
  label: string
  url: string
}

/** The documents that the operator has set. */
export function legalLinks({ termsUrl, imprintUrl }: Branding): LegalLink[] {
  const links: LegalLink[] = [
    { kind: 'terms', label: 'Terms', url: termsUrl },
    { kind: 'imprint', label: 'Imprint', url: imprintUrl },
  ]
  return links.filter(({ url }) => url !== '')
}
