// Sign-in and the account (spec 4.1, 4.2 and 5; contract, "Sign-in").

/** Spec 4.1. */
export interface RequestCodeAnswer {
  message: string
  email: string
  expiresInSeconds: number
}

/** Spec 4.2. */
export interface VerifyCodeAnswer {
  message: string
  apiKey: string
  email: string
  plan: Plan
  isNewUser: boolean
  warning: string
}

/** `POST /api/auth/session`: the dashboard's sign-in; the cookie travels in a header. */
export interface SessionAnswer {
  email: string
  plan: Plan
  isNewUser: boolean
}

export interface NewKeyAnswer {
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
    /** When the request counter starts again. */
    resetsAt: string
    sites: number
    domains: number
    totalBytes: number
  }
}

/** A browser that is signed in. */
export interface SessionSummary {
  id: string
  /** Whether it is the one that asks. */
  current: boolean
  /** What signed in, such as "Firefox on Windows"; `null` when that was not noted. */
  browser: string | null
  createdAt: string
  expiresAt: string
}

/** `GET /api/v1/me/sessions`, newest first. */
export interface SessionList {
  sessions: SessionSummary[]
}

/** `DELETE /api/v1/me/sessions/:id`, and without an id for all but the one that asks. */
export interface SessionsEndedAnswer {
  ended: number
}

/** `DELETE /api/v1/me { email }`: everything of the account is gone. */
export interface LeaveAnswer {
  email: string
  deleted: true
}
