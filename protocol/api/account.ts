// Sign-in and the account (spec 4.1, 4.2 and 5; contract, "Sign-in").

/** Spec 4.1. */
export interface RequestCodeResponse {
  message: string
  email: string
  expiresInSeconds: number
  /** To be sent with the code, so that wrong codes of others do not count against it. Secret. */
  attempt: string
}

/** Spec 4.2. */
export interface VerifyCodeResponse {
  message: string
  apiKey: string
  email: string
  plan: Plan
  isNewUser: boolean
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

export type Plan = 'free' | 'hobby'

export interface Me {
  email: string
  plan: Plan
  createdAt: string
  /** Whether there is an API key; it cannot be shown again. */
  hasKey: boolean
  limits: {
    requestsPerHour: number
    domains: number
    filesPerSite: number
    fileBytes: number
    siteBytes: number
    versionsKept: number
  }
  usage: {
    requestsThisHour: number
    /** When the request counter resets. */
    resetsAt: string
    sites: number
    domains: number
    totalBytes: number
  }
}

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
