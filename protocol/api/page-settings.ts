import type { Branding } from '../branding.ts'
import type { Banner } from './banner.ts'
import type { FileLimits } from './publish.schema.ts'

/** Settings that the server embeds into its pages: `<meta name="slipway" content="{JSON}">`. */
export interface PageSettings {
  /** `{base_url}`, without a trailing slash. */
  baseUrl: string
  /** The version of the service, such as `0.1.0`. */
  version: string
  branding: Branding
  /** Between a slug and the port: `.localhost`. */
  siteDomain: string
  /** Publishing limits without and with an account. */
  anonymous: FileLimits
  owned: FileLimits
  /** Whether sites can be published without an account. */
  anonymousPublishing: boolean
  /** The email address of the operator, whom owners of suspended sites contact; '' when there is none. */
  contactEmail: string
  /** Whether anyone can create an account. */
  openSignUp: boolean
  /** API requests an hour without an account. */
  anonymousRequests: number
  /** Lifetime of a site without an owner in seconds. */
  anonymousLifetime: number
  /** Time in which an upload must be finalized, in seconds. */
  pendingLifetime: number
  /** Time in which a deleted site can be restored, in seconds; with 0 there is no trash. */
  trashLifetime: number
  /** Whether visits are counted. */
  visits: boolean
  /** Whether emails are sent. Otherwise sign-in codes appear where the service runs. */
  mail: 'smtp' | 'log'
  /** Whether the target of custom domains has a public name. */
  customDomains: boolean
  /** Whether the server obtains certificates for custom domains; otherwise the proxy in front does. */
  issuesCertificates: boolean
  /** The message of the operator to all users. */
  banner?: Banner
}
