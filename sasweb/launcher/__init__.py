"""What `manage.py up` starts and watches."""
