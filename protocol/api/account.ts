/** Emails about events that an account can turn off, with the words for people. */
export const NOTICE_KINDS = {
  'site-expires': 'A site is about to expire',
  'site-deleted': 'A site was deleted',
  review: 'A reviewer has commented or decided',
  'domain-fails': 'A domain no longer points to its site',
  'domain-works': 'A domain points to its site again',
  'certificate-fails': 'A domain has a problem with its certificate',
  'new-browser': 'A sign-in from a new place',
  'limit-reached': '80 % or 100 % of a limit is used',
  moderation: 'The operator has suspended or removed a site, a domain or the account',
} as const

export type NoticeKind = keyof typeof NOTICE_KINDS

/** Limits that an account can have in place of those of its plan: not the numbers of versions that are kept. */
export const EXCEPTIONS = [
  ...(['requestsPerHour', 'sites', 'bytes', 'domains'] as const),
  ...(['filesPerSite', 'fileBytes', 'siteBytes', 'previews'] as const),
] as const
