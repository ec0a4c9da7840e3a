/** A family of metrics. Names follow the conventions of Prometheus: base units, `_total` for counters. */
export interface MetricFamily<Label extends string = string> {
  kind: 'counter' | 'gauge' | 'histogram'
  help: string
  /** Names of the labels. Each has a small, closed set of values: never a site, a domain, an account or an address. */
  labels: readonly Label[]
  /** Upper bounds of the buckets of a histogram, in ascending order. */
  buckets?: readonly number[]
}

export const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const TASK_SECONDS = [0.01, 0.1, 1, 10, 60, 300, 1800]

function family(kind: MetricFamily['kind']) {
  return <Label extends string = never>(help: string, ...labels: Label[]): MetricFamily<Label> => {
    return { kind, help, labels }
  }
}

const [counter, gauge, histogram] = [family('counter'), family('gauge'), family('histogram')]

/** Those that `slipway-server nodes` shows. */
export const REPORTED = {
  slipway_store_feed_lag_seconds: gauge(
    'Age of the last successful poll for changes of other nodes. Beyond 0.9 the node checks cached entries before it serves them.',
  ),
  slipway_store_feed_polls_total: counter('These polls.', 'outcome'),
  slipway_store_feed_resets_total: counter('Polls after which all cached entries had to be checked.'),
  slipway_store_pool_connections: gauge('Connections to the database.', 'state'),
  slipway_store_pool_waiting: gauge('Requests that wait for a connection to the database.'),
  slipway_publishes_waiting: gauge('Publishes that wait for others before they write to the database.'),
  slipway_store_pool_timeouts_total: counter('Requests that got no connection in time, or would not have.'),
  slipway_store_pool_connects_total: counter('Attempts to connect to the database.', 'outcome'),
  slipway_store_commits_unanswered: gauge(
    'Commits that the database has not confirmed, also those whose requests no longer wait.',
  ),
  slipway_store_repeated_writes_total: counter(
    'Writes that the database rolled back because of a conflict, and that ran again.',
  ),
  slipway_stale_lookups_total: counter('Cached entries served although changes may have been missed.'),
  slipway_reloads_waiting: gauge(
    'Changed sites, domains and certificates that are loaded again because they are in use.',
  ),
  slipway_breaker_open: gauge('Whether lookups do not wait for the database, because it fails.'),
  slipway_breaker_openings_total: counter('How often that began.'),
  slipway_lookups_refused_total: counter(
    'Lookups of names and credentials that do not exist, and requests that count towards no hourly limit, refused at their limit.',
  ),
  slipway_s3_requests_total: counter(
    'Requests to the bucket, by operation and outcome.',
    'operation',
    'outcome',
  ),
  slipway_s3_retries_total: counter('Tries after the first.'),
  slipway_s3_read_bytes_total: counter('Bytes read from the bucket.'),
  slipway_disk_cache_bytes: gauge('Size of the disk cache of a bucket.'),
  slipway_disk_cache_reads_total: counter(
    'Reads of the disk cache: hit, miss or damaged (a file had other bytes).',
    'result',
  ),
  slipway_disk_cache_hit_bytes_total: counter('Bytes read from the disk cache.'),
  slipway_disk_cache_failures_total: counter(
    'Files of the disk cache that could not be written, or not be listed.',
    'operation',
  ),
  slipway_incident: gauge('Whether an incident lasts, of those in docs/incidents.md.', 'incident'),
}

export const METRICS = {
  slipway_build_info: gauge('Version of the program and of Node; the value is 1.', 'version', 'node'),
  slipway_http_requests_total: counter(
    'Responses: side is edge (sites) or api (the service itself), cache says what a response of a site waited for: hit nothing, miss the store or stored bytes, stale nothing although changes may have been missed; none for the service itself.',
    'side',
    'status',
    'cache',
  ),
  slipway_http_request_duration_seconds: histogram(
    'Time from a request to the beginning of its response (edge) or to its end (api). Responses of sites from memory count into the smallest bucket without a measurement.',
    'side',
  ),
  slipway_http_response_body_bytes_total: counter('Bytes of response bodies.', 'side'),
  slipway_http_request_body_bytes_total: counter('Bytes of request bodies of the service itself.'),
  slipway_api_errors_total: counter('Errors of the API by code, RATE_LIMITED among them.', 'code'),
  slipway_connections: gauge('Open connections of clients.'),
  slipway_connections_closed_total: counter('Connections closed at a limit.', 'reason'),
  slipway_client_memory_bytes: gauge('Memory held for requests and responses in progress.'),
  slipway_cache_bytes: gauge('Memory of cached sites, files and responses.'),
  slipway_cache_limit_bytes: gauge('Value of SLIPWAY_CACHE_BYTES.'),
  slipway_publishes_total: counter(
    'Finalized versions by outcome: live, draft (or preview), unchanged, refused (an error of the caller) or failed.',
    'outcome',
  ),
  slipway_scans_total: counter(
    'Scans by outcome: accepted, refused, or failed: by the scanner one of each version, for secrets one of each batch of files.',
    'outcome',
  ),
  slipway_thumbnails_total: counter(
    'Thumbnails that the Chromium of SLIPWAY_CHROMIUM was to draw, by outcome: drawn or failed.',
    'outcome',
  ),
  slipway_uploads_active: gauge('Uploads and archives in progress.'),
  slipway_precompress_queue_length: gauge('Versions that wait for their encodings.'),
  slipway_store_operation_duration_seconds: histogram(
    'Time of operations of the database: reads, and write transactions with the wait for their turn.',
    'kind',
    'outcome',
  ),
  slipway_blob_operation_duration_seconds: histogram(
    'Time of operations on stored files.',
    'operation',
    'outcome',
  ),
  slipway_damaged_files_total: counter(
    'Reads of stored files that have other bytes than were stored, which no client received (read), and files that the verification found damaged or missing (sweep).',
    'found',
  ),
  slipway_disk_bytes: gauge('Size of the disk of the data folder.'),
  slipway_disk_free_bytes: gauge('Free disk space of the data folder; 0 while inodes run short.'),
  slipway_disk_reserve_bytes: gauge('Free disk space below which publishing is refused.'),
  slipway_certificates: gauge(
    'Requested certificates by state: valid, expired, pending or failing.',
    'state',
  ),
  slipway_certificate_expiry_seconds: gauge(
    'Seconds until the certificate that expires first does; negative afterwards. The source is acme, or file for SLIPWAY_TLS_CERT_FILE.',
    'source',
  ),
  slipway_certificate_lifetime_seconds: gauge('The whole lifetime of that certificate.', 'source'),
  slipway_sweep_runs_total: counter('Runs of sweeps, the background tasks.', 'sweep', 'outcome'),
  slipway_sweep_failures: gauge('Runs of a sweep in a row that failed, on all nodes.', 'sweep'),
  slipway_sweep_last_success_timestamp_seconds: gauge(
    'Time of the last successful run of a sweep in this process.',
    'sweep',
  ),
  slipway_sweep_duration_seconds: {
    ...histogram('Duration of runs of sweeps.', 'sweep'),
    buckets: TASK_SECONDS,
  },
  slipway_backup_last_run_timestamp_seconds: gauge(
    'Time of the last run of `slipway-server backup`; before the first one that of the start with SLIPWAY_BACKUP_TARGET, or absent.',
  ),
  slipway_backup_failures: gauge('Runs of `slipway-server backup` in a row that failed.'),
  slipway_emails_total: counter(
    'Emails by outcome: sent, failed (may be sent again) or rejected.',
    'outcome',
  ),
  slipway_log_failures_total: counter(
    'Writes of the log to the standard output, and of sign-in codes to the standard error, that failed.',
  ),
  slipway_access_log_lines_total: counter(
    'Lines of the access log: written, or dropped because the file or its reader is too slow or failed.',
    'outcome',
  ),
  ...REPORTED,
  slipway_incidents_total: counter('How often an incident began, or happened.', 'incident'),
  slipway_worker_restarts_total: counter('Workers that ended and were started again.'),
  process_start_time_seconds: gauge('Start of the process, in seconds since 1970.'),
  process_cpu_seconds_total: counter('CPU time of the process, user and system.'),
  process_resident_memory_bytes: gauge('Memory of the process.'),
  process_open_fds: gauge('Open file descriptors.'),
  process_max_fds: gauge('Limit of open file descriptors.'),
  nodejs_heap_size_used_bytes: gauge('Used memory of the JavaScript heap.'),
  nodejs_external_memory_bytes: gauge('Memory of buffers outside the heap.'),
  nodejs_eventloop_lag_p50_seconds: gauge('Median delay of the event loop in the last complete 15 seconds.'),
  nodejs_eventloop_lag_p99_seconds: gauge('99th percentile of that delay.'),
  nodejs_eventloop_lag_max_seconds: gauge('Maximum of that delay.'),
  nodejs_eventloop_active_seconds_total: counter('Time in which the event loop was not idle.'),
}

export type MetricName = keyof typeof METRICS

export type LabelsOf<Name extends MetricName> = Record<(typeof METRICS)[Name]['labels'][number], string>
