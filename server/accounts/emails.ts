import type { ServiceBranding } from '../lib/branding.ts'
import type { Email } from '../mail/mail.ts'
import { renderEmail } from '../mail/template.ts'

interface ServiceEmail {
  to: string
  baseUrl: string
  branding: ServiceBranding
}

/** The code is in the fragment, which no server receives. */
const SIGN_IN_PATH = '/sign-in#code='

/** The link signs in only in the browser that requested the code; the code itself works everywhere. */
export function codeEmail(o: ServiceEmail & { code: string; minutes: number }): Email {
  return renderEmail(o.branding, {
    ...{ kind: 'sign-in-code', to: o.to },
    subject: `${o.code} is your ${o.branding.name} sign-in code`,
    code: o.code,
    blocks: [
      `Your sign-in code for ${o.baseUrl}:`,
      { code: o.code },
      `It expires in ${o.minutes} minutes. In the browser where you requested it, you can also use this link:`,
      { label: `Sign in to ${o.branding.name}`, url: `${o.baseUrl}${SIGN_IN_PATH}${o.code}` },
      "Didn't request it? Ignore this email. Never share this code.",
    ],
    footer: `This address was entered to sign in at ${o.baseUrl}.`,
  })
}

/** Notifies an owner of many wrong codes, and for which sources sign-in is locked. */
export function lockEmail(o: ServiceEmail & { lock: 'caller' | 'unknown sources'; hours: number }): Email {
  const where =
    o.lock === 'caller'
      ? 'from the network that sent them'
      : 'from networks and browsers that have never signed in to it before'
  return renderEmail(o.branding, {
    ...{ kind: 'sign-in-paused', to: o.to },
    subject: `Sign-in to ${o.branding.name} is paused for your address`,
    blocks: [
      `Many wrong sign-in codes were entered for your address at ${o.baseUrl}. To protect your account, sign-in is paused ${where}. It works again in ${o.hours} hours.`,
      "Your sites stay online, and your API key keeps working. If it wasn't you, you don't need to do anything: none of the codes was correct.",
    ],
    footer: `You receive this email because of your account at ${o.baseUrl}.`,
  })
}

export function invitationEmail(o: ServiceEmail & { days: number }): Email {
  return renderEmail(o.branding, {
    ...{ kind: 'invitation', to: o.to },
    subject: `You are invited to ${o.branding.name}`,
    blocks: [
      `You can create an account at ${o.baseUrl}, where websites are published. Sign in with this email address within ${o.days} days:`,
      { label: 'Sign in', url: `${o.baseUrl}/sign-in` },
    ],
    footer: `An administrator of ${o.baseUrl} entered this address. Without an account you get no further emails.`,
  })
}

/** In place of a sign-in code to an address that cannot create an account. */
export function signUpClosedEmail(o: ServiceEmail): Email {
  return renderEmail(o.branding, {
    ...{ kind: 'sign-up-closed', to: o.to },
    subject: 'No account has this email address',
    blocks: [
      `A sign-in code for ${o.baseUrl} was requested with this email address. No account has it, and not everyone can create one there.`,
      'If you have an account, sign in with its address. Otherwise ask the administrator for an invitation.',
    ],
    footer: `This address was entered to sign in at ${o.baseUrl}.`,
  })
}
