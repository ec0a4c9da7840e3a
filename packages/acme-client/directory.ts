import { AcmeError } from './acme.ts'
import { type Json, parseObject, readString, toAcmeError } from './response.ts'
import type { HttpResponse } from './transport.ts'

/** The resources of a CA (RFC 8555, 7.1.1). */
export interface AcmeDirectory {
  newNonce: string
  newAccount: string
  newOrder: string
  /** RFC 9773, 4. */
  renewalInfo: string | undefined
  /** Names of its profiles; undefined when it has none. */
  profiles: readonly string[] | undefined
  externalAccountRequired: boolean
  /** Names of the CA in CAA records (RFC 8555, 9.7.6), lower case. */
  caaIdentities: readonly string[]
}

const MAX_IDENTITIES = 20

const EAB_SETTINGS = 'SLIPWAY_ACME_EAB_KEY_ID and SLIPWAY_ACME_EAB_HMAC_KEY'

/** The directory in the response of a CA; AcmeError for any other response. */
export function readDirectory(response: HttpResponse, now: number): AcmeDirectory {
  if (response.status !== 200) throw toAcmeError(response, 'return its directory', now)
  return parseDirectory(parseObject(response))
}

/**
 * The configured profile is dropped for a CA without profiles, and an error for a CA that has other profiles.
 */
export function selectProfile(profile: string, { profiles }: AcmeDirectory): { profile?: string } {
  if (profile === '' || profiles === undefined) return {}
  if (profiles.includes(profile)) return { profile }
  const available = profiles.slice(0, 10).join(', ').slice(0, 200)
  const sentence = `The certificate authority has no profile ${profile} (SLIPWAY_ACME_PROFILE). Available: ${available}`
  throw new AcmeError('rejected', sentence, { type: 'invalidProfile' })
}

export function missingEab(cause?: AcmeError): AcmeError {
  const sentence = `The certificate authority requires external account binding: set ${EAB_SETTINGS}`
  return new AcmeError('rejected', sentence, { type: 'externalAccountRequired', cause })
}

function parseDirectory(object: Json): AcmeDirectory {
  const meta = (object.meta ?? {}) as Json
  const { profiles } = meta
  const hasProfiles = typeof profiles === 'object' && profiles !== null && Object.keys(profiles).length > 0
  return {
    newNonce: readString(object, 'newNonce'),
    newAccount: readString(object, 'newAccount'),
    newOrder: readString(object, 'newOrder'),
    renewalInfo: typeof object.renewalInfo === 'string' ? object.renewalInfo : undefined,
    profiles: hasProfiles ? Object.keys(profiles) : undefined,
    externalAccountRequired: meta.externalAccountRequired === true,
    caaIdentities: readIdentities(meta.caaIdentities),
  }
}

function readIdentities(value: unknown): string[] {
  const identities = Array.isArray(value) ? value.slice(0, MAX_IDENTITIES) : []
  return identities.flatMap((identity: unknown) =>
    typeof identity === 'string' && /^[a-z0-9.-]{1,253}$/i.test(identity) ? identity.toLowerCase() : [],
  )
}
