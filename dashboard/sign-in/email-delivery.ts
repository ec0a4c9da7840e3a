import { settings } from '../api/settings.ts'

/** Whether sign-in codes are emailed. */
export const sendsEmails = settings.mail === 'smtp'

export const NO_EMAIL = 'This server has no email configured: the code is in its terminal and its log.'
