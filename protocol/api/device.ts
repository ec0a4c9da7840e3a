// Sign-in of a program without a browser (RFC 8628), in the names of the standard.

/** `POST /oauth/device_authorization`, as a form (RFC 8628, section 3.1). */
export interface DeviceAuthorizationRequest {
  /** A registered program, or `COMMAND_LINE_CLIENT`. */
  client_id: string
  /** Default: all. */
  scope?: string
  /** Where it runs: the name of its key. Default: the name of the program. */
  machine?: string
}

/** RFC 8628, section 3.2. */
export interface DeviceAuthorization {
  /** For the program only. */
  device_code: string
  /** For its user: `XXXX-XXXX`. */
  user_code: string
  /** The page that asks for the code. */
  verification_uri: string
  /** The same page with the code. */
  verification_uri_complete: string
  expires_in: number
  /** Minimum number of seconds between requests for the key. */
  interval: number
}

/** The key, after the user has allowed it (RFC 6749, section 5.1), with its name and the account. */
export interface DeviceToken {
  access_token: string
  token_type: 'Bearer'
  scope: string
  email: string
  plan: string
  key_name: string
}

/** RFC 8628, section 3.4. */
export const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'

/** The `client_id` of the command line, which needs no registration. */
export const COMMAND_LINE_CLIENT = 'slipway-cli'

/** Maximum length of a user code as it is entered, in characters. */
export const MAX_USER_CODE_LENGTH = 40
