// Sign-in and the account (spec 4.1, 4.2 and 5; contract, "Sign-in").

import type { KeyPermissions } from './keys.ts'
import type { SuspensionNotice } from './sites.ts'

/** Spec 4.1. */
export interface RequestCodeResponse {
  message: string
  email: string
  expiresInSeconds: number
  /** To be sent with the code, so that wrong codes of others do not count against it. Secret. */
  attempt: string
  /** How the code is delivered: `log` is the log of a server without email. */
  delivery: 'email' | 'log'
}

/** Spec 4.2. */
export interface VerifyCodeResponse {
  message: string
  apiKey: string
  email: string
  plan: Plan
  isNewUser: boolean
  /** The name of the key, if it has one. */
  keyName?: string
  warning: string
}

/** `POST /api/auth/session`: the dashboard's sign-in; the cookie is in a header. */
export interface SessionResponse {
  email: string
  plan: Plan
  isNewUser: boolean
}

export interface NewKeyResponse {
  apiKey: string
  warning: string
}

/** Emails about events that an account can turn off, with the words for people. */
export const NOTICE_KINDS = {
  'site-expires': 'A site is about to expire',
  'site-deleted': 'A site was deleted',
  'domain-fails': 'A domain no longer points to its site',
  'domain-works': 'A domain points to its site again',
  'certificate-fails': 'A domain has a problem with its certificate',
  'new-browser': 'A sign-in from a new place',
  'limit-reached': '80 % or 100 % of a limit is used',
  moderation: 'The operator has suspended or removed a site, a domain or the account',
} as const

export type NoticeKind = keyof typeof NOTICE_KINDS

/** `DELETE /api/v1/me/key`: the key of the request is no longer valid. */
export interface KeyEndedResponse {
  ended: true
}

/** A plan of this server: `free`, `hobby` and those that its operator defines. */
export type Plan = string

/** The limits of an account, by its plan and its exceptions from it. */
export interface Limits {
  /** Of its API keys together. */
  requestsPerHour: number
  /** Sites, those in the trash included. */
  sites: number
  /** Size of all versions of all sites, each content once, and of uploads that are not finalized. */
  bytes: number
  domains: number
  filesPerSite: number
  fileBytes: number
  siteBytes: number
  versionsKept: number
  draftsKept: number
  previews: number
}

/** Limits that an account can have in place of those of its plan: not the numbers of versions that are kept. */
export const EXCEPTIONS = [
  ...(['requestsPerHour', 'sites', 'bytes', 'domains'] as const),
  ...(['filesPerSite', 'fileBytes', 'siteBytes', 'previews'] as const),
] as const satisfies readonly (keyof Limits)[]

export type Exceptions = Partial<Pick<Limits, (typeof EXCEPTIONS)[number]>>

/** Exceptions of an account to set; null removes one. */
export type LimitsChange = { [Limit in keyof Exceptions]?: number | null }

/** `PUT /api/admin/accounts/:id/plan`: what is absent stays. */
export interface PlanChange {
  plan?: Plan
  limits?: LimitsChange
}

/** The plan of an account with its exceptions. */
export interface AccountPlan {
  plan: Plan
  limits: Exceptions
}

export interface Me {
  /** While the operator has suspended the account. */
  suspension?: SuspensionNotice
  email: string
  plan: Plan
  /** The name of the plan on this server, for people. */
  planName: string
  createdAt: string
  /** Whether there is an API key without a name, or the request carries a key; it cannot be shown again. */
  hasKey: boolean
  /** The named key of the request; `null` for another credential. */
  key: (KeyPermissions & { name: string }) | null
  /** Whether the account administers the service: see `/api/admin`. */
  administrator: boolean
  /** Whether emails remind of sites that expire and confirm deletions. */
  reminders: boolean
  /** Which emails about events are sent. */
  notices: Record<NoticeKind, boolean>
  /** Why no emails about events are sent: the mail server has refused the address. `null` while it has not. */
  emailProblem: { at: string; reply: string } | null
  /** `UNLIMITED` (9007199254740991) is a limit that the operator removed. */
  limits: Limits & { draftLifetimeSeconds: number }
  usage: {
    requestsThisHour: number
    /** When the request counter resets. */
    resetsAt: string
    /** Sites that are not deleted. */
    sites: number
    domains: number
    /** Bytes of the live versions. */
    totalBytes: number
    /** What counts against `limits.bytes` and `limits.sites`. */
    heldBytes: number
    heldSites: number
  }
}

/** `PATCH /api/v1/me`: `reminders` is both kinds about sites. */
export interface MeChange {
  reminders?: boolean
  notices?: Partial<Me['notices']>
}

/** The response to `PATCH /api/v1/me`. */
export type MeChangeResponse = Pick<Me, 'reminders' | 'notices'>

/** A browser session. */
export interface SessionSummary {
  id: string
  /** Whether it is the caller's. */
  current: boolean
  /** Its client, such as "Firefox on Windows"; `null` when it was not recorded. */
  browser: string | null
  createdAt: string
  expiresAt: string
}

/** `GET /api/v1/me/sessions`, newest first. */
export interface SessionList {
  sessions: SessionSummary[]
}

/** `DELETE /api/v1/me/sessions/:id`, or without an id for all but the caller's. */
export interface SessionsEndedResponse {
  ended: number
}

/** `DELETE /api/v1/me { email }`: the account and everything in it is deleted. */
export interface DeleteAccountResponse {
  email: string
  deleted: true
}
