import type { Letter } from '../mail/mail.ts'

/**
 * The message with a verification code: the code on a line of its own, its lifetime, and what to do if it was
 * not requested.
 */
export function codeLetter(o: { to: string; code: string; minutes: number; baseUrl: string }): Letter {
  return {
    to: o.to,
    subject: `${o.code} is your Slipway code`,
    code: o.code,
    text: `Hello,

this code signs you in to Slipway at ${o.baseUrl}:

    ${o.code}

It works once, for ${o.minutes} minutes. Upper or lower case, with or without the dash: all are fine.

If you did not ask for it, you need not do anything: without this code nobody
gets in. Do not pass it on to anyone who asks for it.
`,
  }
}

/** The message to an owner that sign-in is locked after many wrong codes, and for which sources. */
export function lockLetter(o: {
  to: string
  lock: 'caller' | 'unknown sources'
  hours: number
  baseUrl: string
}): Letter {
  const where =
    o.lock === 'caller'
      ? 'paused sign-in to it from where they came'
      : 'paused sign-in to it\nfrom networks and browsers that have never signed in to it before'
  return {
    to: o.to,
    subject: 'Sign-in to Slipway is paused for your address',
    text: `Hello,

many wrong codes were entered for your address at ${o.baseUrl}, so we have
${where}. It opens again by itself in ${o.hours} hours.

Your sites stay online, and your API key keeps working. If it was not you, you
need not do anything else: nobody got in.
`,
  }
}
