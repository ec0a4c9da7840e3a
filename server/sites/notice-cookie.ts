/** Of visitors of an anonymous site who have continued from the page before it. */
export const NOTICE_COOKIE = 'slipway-notice'

/** Over HTTPS no script of a sibling site can set it (draft-ietf-httpbis-rfc6265bis, `__Host-`). */
export const SECURE_NOTICE_COOKIE = `__Host-${NOTICE_COOKIE}`
