import type { VerifyCodeResponse } from './account.ts'

// Sign-in of a program without a browser (RFC 8628).

/** `POST /api/auth/device`. */
export interface DeviceCodeRequest {
  /** What asks, such as "Slipway command line". */
  program: string
  /** Where it runs: the name of its key. */
  machine: string
}

export interface DeviceCodeResponse {
  /** For the program only. */
  deviceCode: string
  /** For its user: `XXXX-XXXX`. */
  userCode: string
  /** The page that asks for the code. */
  verificationUrl: string
  /** The same page with the code. */
  verificationUrlComplete: string
  expiresInSeconds: number
  /** Minimum time between requests of `POST /api/auth/device/token`. */
  intervalSeconds: number
}

/** `POST /api/auth/device/token`, after the user has allowed it. */
export type DeviceTokenResponse = Omit<VerifyCodeResponse, 'isNewUser' | 'message'> & { keyName: string }

/** `POST /api/v1/me/device`: what a code asks for. */
export interface DeviceRequest extends DeviceCodeRequest {
  userCode: string
  createdAt: string
  expiresAt: string
  /** Whether the account has a key with the name of the machine, which the new one replaces. */
  replacesKey: boolean
}

/** `POST /api/v1/me/device/decision`. */
export interface DeviceDecisionResponse {
  allowed: boolean
}
