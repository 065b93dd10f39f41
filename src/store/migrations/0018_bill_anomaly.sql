-- What a bill says otherwise and a person must look at, as a fact of its order; see docs/decisions/009-bill-anomaly.md.
alter type fact_kind add value 'bill_differs';
