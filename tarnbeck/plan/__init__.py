"""Views as shared aggregation plans: frozen data that engines are functions over."""
