/** An error of OAuth (RFC 6749, section 5.2; RFC 7591, section 3.2.2; RFC 8628, section 3.5). */
export interface OAuthProblem {
  error:
    | 'invalid_request'
    | 'invalid_client'
    | 'unauthorized_client'
    | 'invalid_client_metadata'
    | 'invalid_redirect_uri'
    | 'authorization_pending'
    | 'slow_down'
    | 'access_denied'
    | 'expired_token'
  error_description: string
}
