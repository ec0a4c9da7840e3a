/** By which jobs find failing domains and certificates, sites without a certificate, and what crashes left behind. */
export const failuresAndStrays = [
  { name: 'domains_failing', on: 'domains (failing_since) where failing_since is not null' },
  {
    name: 'certificates_failing',
    on: 'certificates (name) where problem is not null and unused_since is null',
  },
  {
    name: 'sites_with_owner',
    on: 'sites (created_at) where gone_at is null and owner_id is not null and live_version_id is not null',
  },
  { name: 'acme_challenges_by_name', on: 'acme_challenges (name)' },
  { name: 'arrivals_by_object', on: 'arrivals (object)' },
]
